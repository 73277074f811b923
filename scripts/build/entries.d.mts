/** Name in the package -> source. */
export declare const entries: Readonly<Record<string, string>>
