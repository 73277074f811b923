/** Writes docs/api/. */
export function writeApi(): Promise<void>
/** Writes target/site. */
export function buildSite(): Promise<void>
