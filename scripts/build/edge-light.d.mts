/** What the `edge-light` condition picks, and what it is made from. */
export declare const edgeEntries: Readonly<Record<string, string>>
