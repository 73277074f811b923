/** The pictures of docs/concepts/, by the names of their pages. */
export const concepts: Readonly<Record<string, string>>
