/**
 * The path of a request. Who filters by paths, and who routes by them, has to read the same: a reader that decodes `/%6detrics` finds a path
 * that the one before it has not seen. Nothing is decoded here, since no name of the API needs it.
 */
export const pathOf = ({ url }: Pick<Request, 'url'>): string => new URL(url).pathname
