/** Names of the properties that the build shortens, with spaces between. */
export declare const inward: string

/** Name in the package -> source. */
export declare const entries: Readonly<Record<string, string>>
