/**
 * The path of a request, for all that filter or route by it: a router that decodes `/%6detrics` finds a path that a filter before it has not seen.
 * Nothing is decoded here, since no name of the API needs it.
 */
export const pathOf = ({ url }: Pick<Request, 'url'>): string => new URL(url).pathname
