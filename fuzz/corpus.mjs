// The inputs that are kept of each fuzz target, a file a target: corpus/<target>.bin.
//
// A file is one input after another: its length as four bytes, little-endian, then the input. Inputs are sorted by length
// and then by their bytes, none stands twice: the same inputs make the same file. libFuzzer wants a folder with a file an
// input; `npm run fuzz` unpacks one before it begins, and `--keep` packs what is left of it.
//
// `node fuzz/corpus.mjs add <target> <file...>`: keeps inputs that were found elsewhere, such as one of fuzz/artifacts/.
// `node fuzz/corpus.mjs unpack <target> <folder>`: writes a file an input, named by its number.
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const targets = ['retry_after', 'ratelimit', 'json', 'url', 'headers', 'policy', 'queue']

const fileOf = (target) => fileURLToPath(new URL(`corpus/${target}.bin`, import.meta.url))

/** The inputs of a packed file. */
export function decode(bytes) {
  const inputs = []
  for (let at = 0; at < bytes.length; ) {
    const from = at + 4
    if (from > bytes.length) throw new Error(`a length is cut off at byte ${at}`)
    at = from + bytes.readUInt32LE(at)
    if (at > bytes.length) throw new Error(`input ${inputs.length} is cut off at byte ${bytes.length} of ${at}`)
    inputs.push(bytes.subarray(from, at))
  }
  return inputs
}

/** The packed file of some inputs. */
export function encode(inputs) {
  const sorted = [...inputs].sort((a, b) => a.length - b.length || Buffer.compare(a, b))
  const once = sorted.filter((input, at) => at === 0 || !input.equals(sorted[at - 1]))
  return Buffer.concat(once.flatMap((input) => [lengthOf(input), input]))
}

function lengthOf(input) {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(input.length)
  return length
}

export const read = (target) => decode(readFileSync(fileOf(target)))

/** Makes the files of a folder the inputs of a target. Gives how many there are. */
export function pack(target, folder) {
  const inputs = readdirSync(folder).map((name) => readFileSync(join(folder, name)))
  writeFileSync(fileOf(target), encode(inputs))
  return read(target).length
}

/** Writes the inputs of a target into a folder, which is emptied first. */
export function unpack(target, folder) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [number, input] of read(target).entries()) writeFileSync(join(folder, String(number)), input)
}

function add(target, ...files) {
  const found = files.map((file) => readFileSync(file))
  writeFileSync(fileOf(target), encode([...read(target), ...found]))
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [command, target, ...rest] = process.argv.slice(2)
  const does = { add, unpack }[command]
  if (!does || !targets.includes(target) || rest.length === 0) {
    process.stderr.write(
      `node fuzz/corpus.mjs add <target> <file...>, or unpack <target> <folder>: ${targets.join(', ')}\n`,
    )
    process.exit(2)
  }
  does(target, ...rest)
  process.stdout.write(`${target}: ${read(target).length} inputs\n`)
}
