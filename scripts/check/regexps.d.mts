export interface FoundRegexp {
  readonly path: string
  readonly line: number
  readonly source: string
  readonly flags: string
}

export function regexpsIn(
  path: string,
  code: string,
): { readonly found: readonly FoundRegexp[]; readonly unreadable: readonly string[] }

export function slowOnes(
  regexps: readonly FoundRegexp[],
  limits?: { readonly length?: number; readonly limitMs?: number; readonly stopMs?: number },
): Promise<string[]>

export function checkRegexps(): Promise<string>
