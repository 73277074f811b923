// Names that this project has given up stay given up, comments keep their form, and prose the words of docs/glossary.md. A word that comes back brings its
// old ambiguity along: `pump` was a loop and a tab, `Desk` a class and two unrelated interfaces. Each name below stands
// with the one to use instead. Doc comments begin with the thing itself, and name the actor: CONTRIBUTING.md, "Style".
// `node scripts/check/retired.mjs js/durable src` lists the faults under these paths.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { filesUnder } from '../lib/inputs.mjs'
import { at, root } from '../lib/paths.mjs'
import { isEntry, main, StepError } from '../lib/steps.mjs'

/** Retired name -> what to use, under `folder` only where that is given: elsewhere the word is an ordinary one. */
const retired = [
  ['Host', 'QueueContext'],
  ['Desk', 'TaskManager, SenderPorts or GatePorts'],
  ['StoredDesk', 'StoredTaskManager'],
  ['DeadLetterDesk', 'DeadLetterManager'],
  ['Opening', 'Loader', 'js/queue/'],
  ['CoreLoader', 'Loader, made by loadCore', 'js/queue/'],
  ['preparing', 'assemble'],
  ['Judge', 'Rulings'],
  ['Intake', 'Admission'],
  ['Durable', 'StoredTasks'],
  ['Keeping', 'StorePlace'],
  ['Early', 'EarlyAnswer'],
  ['Source', 'the task itself', 'js/runner/'],
  ['Turns', 'StoreLoop'],
  ['Pace', 'TurnSchedule'],
  ['hungry', 'wantsRoom'],
  ['feed', 'roomMade', 'js/durable/'],
  ['offer', 'workOffered', 'js/durable/'],
  ['offered', 'workOffered', 'js/durable/'],
  ['Duty', 'Leadership'],
  ['Leases', 'LeaseStarter'],
  ['Settling', 'Settler'],
  ['Waiting', 'WaitingCallers', 'js/durable/'],
  ['Entering', 'PendingWrites'],
  ['Known', 'SeenTasks', 'js/durable/'],
  ['Whose', 'PrincipalGuard'],
  ['Entry', 'HistoryEntry', 'js/tasks/'],
  ['Held', 'HeldLease', 'js/tasks/'],
  ['askedBy', 'serverDelayOf'],
  ['turnAway', 'circuitOpen'],
  ['distrust', 'suspectPrincipal'],
  ['poke', 'requestTurn'],
  ['letGo', 'drain or resign'],
  ['shell', 'taskOf', 'js/durable/'],
  ['decide', 'applyRuling', 'js/runner/'],
  ['attendance', 'suspensionGuard'],
  ['orphans', 'orphanedLeases'],
  ['Guards', 'LeaseWatch'],
  ['stow', 'reserve'],
  ['stale', 'StaleSnapshot', 'js/stores/indexeddb/'],
  ['guess', 'optimistic', 'js/stores/indexeddb/'],
  ['Hub', 'Hints'],
  ['Channel', 'Hints', 'js/stores/'],
  ['Shift', 'AlarmRun'],
  ['HandOver', 'Handoff'],
  ['goesOn', 'whereNext', 'js/cloudflare/'],
  ['Leaving', 'Departure'],
  ['Isolate', 'SharedGates'],
  ['Following', 'FollowPrincipal'],
  ['pump', 'tick for the loop, leader for the tab'],
  ['pumps', 'isLeader'],
  ['Pump', 'Leader'],
  ['PumpLock', 'LeaderLock'],
  ['standing', 'gateStatus'],
  ['BLOCKED_MS', 'RETRY_BLOCKED_MS'],
  ['SOON_MS', 'LOOK_SOON_MS'],
  ['STILL_MS', 'FROZEN_CLOCK_MS'],
  ['GAP_MS', 'SLEEP_GAP_MS'],
  ['SPREAD_MS', 'WAKE_SPREAD_MS'],
  ['LEASE_MS', 'RENEWED_LEASE_MS'],
].map(([name, use, folder = 'js/']) => ({ name, use, folder, pattern: new RegExp(`\\b${name}\\b`, 'g') }))

/** Methods whose bare name says too little: a verb takes its object along. The core's own `hold` is Rust's name. */
const bareMethods = [
  { name: 'hold', use: 'holdLane, holdHome or trackSlot', folder: 'js/', pattern: /(?<!\bcore\.|[\w$])hold\(/g },
]

const badOpening = /^(What|Who|Whose|Of|As|It|They|The same)\b/
const vague = /\b(somebody|nobody|whoever)\b/i

const isGenerated = (path) => /^js\/(core|stores\/redis)\/generated/.test(path)
const tokens = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
const isComment = (token) => token.startsWith('//') || token.startsWith('/*')
const lineAt = (text, index) => text.slice(0, index).split('\n').length

/** The code alone: comments and texts are blank, lines keep their numbers. */
const codeOf = (text) => without(text, tokens)

/** @returns {string[]} one line for each use of a retired name in the TypeScript file at `path` */
export function retiredNames(path, text) {
  const code = codeOf(text)
  return [...retired, ...bareMethods]
    .filter(({ folder }) => path.startsWith(folder))
    .flatMap(({ name, use, pattern }) =>
      [...code.matchAll(pattern)].map(
        ({ index }) => `${path}:${lineAt(text, index)}: '${name}' is retired: use ${use}`,
      ),
    )
}

/** Every comment with its line; lines that follow one another are one. `isDoc`: it documents an item or the module. */
function commentsOf(path, text) {
  if (path.endsWith('.rs')) return lineComments(text, /^\s*\/\/([/!]?)\s?(.*)$/, ([, mark]) => mark !== '')
  const header = lineComments(/^(?:\/\/.*\n)+/.exec(text)?.[0] ?? '', /^\/\/()\s?(.*)$/, () => true)
  const rest = [...text.matchAll(tokens)]
    .filter(([token]) => isComment(token))
    .map(({ 0: token, index }) => ({
      line: lineAt(text, index),
      words: token
        .replace(/^\/[*/]+|\*\/$/g, '')
        .replace(/\n\s*\*\s?/g, ' ')
        .trim(),
      isDoc: token.startsWith('/**'),
    }))
  const headerLines = header.length === 0 ? 0 : header[0].words.split('\n').length
  return [...header, ...rest.filter(({ line }) => line > headerLines)]
}

function lineComments(text, pattern, isDoc) {
  const found = []
  let last = -1
  for (const [index, line] of text.split('\n').entries()) {
    const match = pattern.exec(line)
    if (!match) continue
    const doc = isDoc(match)
    const before = found.at(-1)
    if (before !== undefined && last === index - 1 && before.isDoc === doc) before.words += `\n${match[2]}`
    else found.push({ line: index + 1, words: match[2], isDoc: doc })
    last = index
  }
  return found
}

const without = (text, pattern) => text.replace(pattern, (part) => part.replace(/[^\n]/g, ' '))

/** The prose of a document, without what it quotes from a program. */
const withoutCode = (text) => without(text, /^```[\s\S]*?^```/gm)
const proseOf = (text) =>
  withoutCode(text)
    .split('\n')
    .map((words, index) => ({ line: index + 1, words, isDoc: false }))

/** @returns {string[]} one line for each comment, or line of a document, at `path` that has not the form we keep */
export function vagueComments(path, text) {
  const texts = path.endsWith('.md') ? proseOf(text) : commentsOf(path, text)
  return texts.flatMap(({ line, words, isDoc }) => {
    const opening = isDoc ? badOpening.exec(words)?.[0] : undefined
    const word = vague.exec(words)?.[0]
    return [
      ...(opening ? [`${path}:${line}: begins with '${opening}': begin with the thing itself`] : []),
      ...(word ? [`${path}:${line}: '${word}': name the actor`] : []),
    ]
  })
}

/**
 * The words that docs/glossary.md refuses: those in backquotes in the column 'not' or 'instead of'. `…` stands for up to four words.
 * @returns {{ word: string, use: string, pattern: RegExp }[]}
 */
export function refusedWords(glossary) {
  const rows = glossary.split('\n').filter((line) => /^\| [`a-z]/.test(line))
  return rows.flatMap((row) => {
    const [first, ...others] = row.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''))
    const [cell, use] = first.startsWith('`') ? [first, others[0]] : [others.at(-1), first]
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => {
      const pattern = word.replaceAll(' … ', "(?:[\\s-]+[\\w’']+){0,4}[\\s-]+").replaceAll(' ', '\\s+')
      return { word, use, pattern: new RegExp(`(?<![\\w-])${pattern}(?![\\w-])`, 'gi') }
    })
  })
}

/** The texts of a program with their places: those in quotes, and templates without the code in their holes, which may hold further ones. */
function shownIn(code) {
  const found = []
  let i = 0
  const program = (isHole) => {
    for (let depth = 0; i < code.length; i++) {
      const start = i
      if (code.startsWith('//', i)) i = (code.indexOf('\n', i) + code.length) % code.length
      else if (code.startsWith('/*', i)) i = code.indexOf('*/', i + 2) + 1
      else if (code[i] === '/' && /[(,=:[!&|?{};>]\s*$/.test(code.slice(Math.max(0, i - 40), i))) expression()
      else if (code[i] === '`') template()
      else if (code[i] === "'" || code[i] === '"') {
        while (++i < code.length && code[i] !== code[start] && code[i] !== '\n') if (code[i] === '\\') i++
        found.push({ index: start + 1, words: code.slice(start + 1, i) })
      } else if (code[i] === '{') depth++
      else if (code[i] === '}' && isHole && depth-- === 0) return
    }
  }
  /** A regular expression: a quote or a slash in it begins nothing. */
  const expression = () => {
    for (let isClass = false; ++i < code.length && code[i] !== '\n' && (isClass || code[i] !== '/'); ) {
      if (code[i] === '\\') i++
      else if (code[i] === '[' || code[i] === ']') isClass = code[i] === '['
    }
  }
  const template = () => {
    const start = ++i
    let words = ''
    for (; i < code.length && code[i] !== '`'; i++) {
      const from = i
      if (code[i] === '\\') i++
      else if (code.startsWith('${', i)) {
        i += 2
        program(true)
      } else {
        words += code[i]
        continue
      }
      words += code.slice(from, i + 1).replace(/[^\n]/g, ' ')
    }
    found.push({ index: start, words })
  }
  program(false)
  return found
}

const withoutQuotes = (text) => without(text, /`[^`\n]*`|\]\([^)\s]*\)/g)

/** What a page shows, and its labels: nothing of its scripts and styles, of what it binds, or of its comments. */
const shownByPage = (text) =>
  [
    /<(script|style)\b[\s\S]*?<\/\1>/g,
    /<!--[\s\S]*?-->/g,
    /\{\{[\s\S]*?\}\}/g,
    /\s(?:[:@#]|v-)[\w.:-]+="[^"]*"/g,
    /<\/?[\w-]+/g,
  ].reduce(without, text)

/** The prose of a file: a document, a page, doc comments, and in programs that users see the texts that they show. Nothing that they quote from a program. */
function proseIn(path, text) {
  if (/\.(html|vue)$/.test(path)) {
    // a program in it has its own line numbers
    const scripts = [...text.matchAll(/(<script\b[^>]*>)([\s\S]*?)<\/script>/g)].flatMap(({ 1: tag, 2: code, index }) =>
      proseIn(path.replace(/\w+$/, 'ts'), '\n'.repeat(lineAt(text, index + tag.length) - 1) + code),
    )
    return [{ line: 1, words: shownByPage(text) }, ...scripts]
  }
  const documented = path.endsWith('.md')
    ? [{ line: 1, words: withoutCode(text) }]
    : commentsOf(path, text).filter(({ isDoc }) => isDoc)
  const prose = documented.map(({ line, words }) => ({ line, words: withoutQuotes(words) }))
  if (!/\.ts$/.test(path) && !/^(examples|site)\/.*\.(m?js|jsx)$/.test(path)) return prose
  // a text of one word is a name, unless it is a label that people see
  const isRead = /^js\/(ui|service\/cli)\//.test(path) ? /\w \w|^[A-Z][a-z]+$/ : /\w \w/
  const shown = shownIn(text).filter(({ words }) => isRead.test(words))
  return [...prose, ...shown.map(({ index, words }) => ({ line: lineAt(text, index), words }))]
}

/** @returns {string[]} one line for each use, in the prose of the file at `path`, of a word that the glossary refuses */
export function refusedIn(path, text, refused) {
  return proseIn(path, text).flatMap(({ line, words }) =>
    refused.flatMap(({ use, pattern }) =>
      [...words.matchAll(pattern)].map(({ 0: found, index }) => {
        const at = `${path}:${line + lineAt(words, index) - 1}`
        return `${at}: '${found.replace(/\s+/g, ' ')}' is not used, see docs/glossary.md: ${use}`
      }),
    ),
  )
}

const formed = ['js', 'src', 'scripts', 'docs', 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']
const judged = [...formed, 'examples', 'site', 'pkg-template', 'CHANGELOG.md', 'SECURITY.md']

/** The folders and files whose comments keep their form. */
const hasForm = (path) => formed.some((each) => path === each || path.startsWith(`${each}/`))

/** The prose that users read; the decisions keep the words of their day, and docs/api/ has names of code. */
const isForUsers = (path) =>
  /^(js|src|docs|examples|site|pkg-template)\/|^(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$/.test(path) &&
  !/^docs\/(adr\/|api\/|glossary\.md)/.test(path)

const isLeftOut = (path) =>
  isGenerated(path) || /(^|\/)(node_modules|dist|cache|\.next|\.wrangler|\.temp)(\/|$)/.test(path)

/** Every fault of the files under `folders`. */
function faultsUnder(folders) {
  const refused = refusedWords(readFileSync(at('docs/glossary.md'), 'utf8'))
  const files = filesUnder(
    folders.map((folder) => at(folder)),
    isLeftOut,
  )
  return files
    .filter((name) => /\.(ts|rs|m?js|jsx|md|html|vue)$/.test(name))
    .flatMap((file) => {
      const path = relative(root, file).replaceAll('\\', '/')
      const text = readFileSync(file, 'utf8')
      return [
        ...(path.endsWith('.ts') ? retiredNames(path, text) : []),
        ...(hasForm(path) && /\.(ts|rs|mjs|md)$/.test(path) ? vagueComments(path, text) : []),
        ...(isForUsers(path) ? refusedIn(path, text, refused) : []),
      ]
    })
}

export function checkRetired() {
  const faults = faultsUnder(judged)
  if (faults.length > 0) throw new StepError(faults.join('\n'))
}

if (isEntry(import.meta.url)) {
  await main(async () => {
    const faults = faultsUnder(process.argv.length > 2 ? process.argv.slice(2) : judged)
    process.stdout.write(`${[...faults, `${faults.length} to mend`].join('\n')}\n`)
  })
}
