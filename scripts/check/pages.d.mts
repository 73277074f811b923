/** Files of a bundler's output, by when a page loads them. */
export interface PageParts {
  readonly folder: string
  readonly atOnce: readonly string[]
  readonly atIdle: readonly string[]
  readonly withTask: readonly string[]
  readonly withPrincipal: readonly string[]
  readonly forKeys: readonly string[]
}

/** `program`: name -> text, `main.js` among them. */
export declare function partsOf(
  bundler: string,
  name: string,
  program: Readonly<Record<string, string>>,
): Promise<PageParts>
