/** Commands as clients write them: arrays of strings, each after its length. */

export interface Command {
  readonly name: string
  /** As it was sent. */
  readonly text: Buffer
}

const CR = 13
const LF = 10

/** Those that have come as a whole, and what is left. What is no command of that kind, as replicas send it, is passed over. */
export function wholeCommands(bytes: Buffer): { readonly commands: readonly Command[]; readonly rest: Buffer } {
  const commands: Command[] = []
  let from = 0
  for (;;) {
    while (bytes[from] === LF) from++
    const command = commandAt(bytes, from)
    if (command === 'other') return { commands, rest: bytes.subarray(bytes.length) }
    if (!command) return { commands, rest: bytes.subarray(from) }
    commands.push({ name: command.name, text: bytes.subarray(from, command.to) })
    from = command.to
  }
}

/** undefined: there is more to come. */
function commandAt(bytes: Buffer, from: number): { readonly name: string; readonly to: number } | 'other' | undefined {
  const head = numberAt(bytes, from, '*')
  if (!head || head === 'other') return head
  let { to } = head
  let name = ''
  for (let part = 0; part < head.value; part++) {
    const length = numberAt(bytes, to, '$')
    if (length === 'other') return length
    if (!length || length.to + length.value + 2 > bytes.length) return undefined
    if (part === 0) name = bytes.toString('latin1', length.to, length.to + length.value)
    to = length.to + length.value + 2
  }
  return { name, to }
}

/** After the byte that says of what it is the number. */
function numberAt(
  bytes: Buffer,
  from: number,
  of: '*' | '$',
): { readonly value: number; readonly to: number } | 'other' | undefined {
  const end = bytes.indexOf(CR, from)
  if (end < 0 || end + 2 > bytes.length) return undefined
  const text = bytes.toString('latin1', from, end)
  return text.startsWith(of) && /^.\d+$/.test(text) ? { value: Number(text.slice(1)), to: end + 2 } : 'other'
}
