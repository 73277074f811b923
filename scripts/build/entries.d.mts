/** Name in the package -> source. */
export declare const entries: Readonly<Record<string, string>>
/** Name of an entry. */
export declare const uncut: string
export declare const required: Readonly<Record<string, string>>
export declare const serviceEntries: Readonly<Record<string, string>>
export declare const uiEntries: Readonly<Record<string, string>>
