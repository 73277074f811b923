/** Names of the properties that the build shortens, with spaces between. */
export declare const inward: string
