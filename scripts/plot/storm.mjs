// `node scripts/plot/storm.mjs`: draws docs/storm.svg, three storms second by second, as `sim storm --part course` has them.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { at, root } from '../lib/paths.mjs'
import { band, grouped, label, legend, limit, line, panel, picture, RIGHT, scale, WIDTH } from '../lib/plot.mjs'

/** The most requests a second that a panel has room for. */
const MOST = 2_000
const CAPACITY = 1_000
const HEIGHT = 132
const STEP = HEIGHT + 62

const sim = ['run', '--quiet', '--release', '--package', 'sim', '--', 'storm', '--part', 'course']
const { downAtS, backAtS, courses } = JSON.parse(execFileSync('cargo', sim, { cwd: root, maxBuffer: 1e8 }).toString())
const x = scale(courses[0].requests.length)

function endOf({ collapsed, drainedS, amplification }) {
  if (collapsed) return 'stays down for good'
  if (drainedS === null) return 'backlog not gone yet'
  return `backlog gone after ${Math.round(drainedS)} s, ${amplification.toFixed(2)} requests a call`
}

/** Two seconds to a point: chance alone moves one second by a few per cent. */
const points = (rates, { y }) => rates.flatMap((rate, i) => (i % 2 === 1 ? [[x(i), y((rates[i - 1] + rate) / 2)]] : []))

const panels = courses.map((course, i) => {
  const frame = panel({ top: 96 + i * STEP, height: HEIGHT, most: MOST, title: course.title })
  const most = Math.max(...course.requests)
  const beyond = most > 1.2 * MOST ? `, up to ${grouped(most)} requests a second` : ''
  const words = label(WIDTH - RIGHT, frame.top - 10, endOf(course) + beyond, { anchor: 'end', as: 'soft' })
  const lines =
    line('load thin', points(course.requests, frame)) + line('good thin', points(course.answered, frame), frame)
  const can =
    i === 0 && label(WIDTH - RIGHT - 6, frame.y(CAPACITY) - 6, 'all the server can do', { anchor: 'end', as: 'soft' })
  return [frame.frame, words, band(frame, x(downAtS), x(backAtS)), limit(frame, CAPACITY), can, lines]
    .filter(Boolean)
    .join('')
})
const foot = 96 + (courses.length - 1) * STEP + HEIGHT + 20
const minutes = Array.from({ length: 9 }, (_, i) => [backAtS + 60 * i, i === 0 ? 'back' : `${i} min`])
const axis = [[downAtS, 'down'], ...minutes].map(([second, word]) =>
  label(x(second), foot, word, { anchor: 'middle', as: 'soft' }),
)
const title = 'A server that was down for a minute, and its clients'
const svg = picture({
  height: foot + 22,
  title,
  desc: courses.map((course) => `${course.title}: ${endOf(course)}.`).join(' '),
  series: { load: 'orange', good: 'green' },
  parts: [
    ...panels,
    ...axis,
    legend(58, [
      ['load', 'requests a second'],
      ['good', 'calls answered a second'],
    ]),
  ],
})
writeFileSync(at('docs', 'storm.svg'), svg)
