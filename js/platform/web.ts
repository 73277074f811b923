/** Types of the web by names that every host knows: `RequestInfo` and its like are declared by the DOM library alone, not by Node's types. */

export type RequestLike = Request | string | URL
export type HeadersLike = NonNullable<RequestInit['headers']>
export type BodyLike = NonNullable<RequestInit['body']>
