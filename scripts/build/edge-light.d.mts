/** File that the `edge-light` condition picks -> the file it is made from. */
export declare const edgeEntries: Readonly<Record<string, string>>
