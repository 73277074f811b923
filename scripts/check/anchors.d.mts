/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string
