/** What happens to tabs, and to the machine they are on. */

import type { Life, Process } from './process.ts'
import type { Act } from './scenario.ts'
import type { World } from './world.ts'

export type TabAct = Extract<
  Act,
  { readonly do: 'hide' | 'show' | 'suspend' | 'cached' | 'leave' | 'network' | 'sleep' }
>

export function actingOnTabs(world: World, act: TabAct): void {
  if (act.do === 'network') setNetwork(world, act.online, act.told)
  else if (act.do === 'sleep') sleep(world, act.forMs)
  else {
    const process = world.processes[act.p]
    if (process?.ready) actingOnTab(world, process, process.ready, act)
  }
}

type OneTabAct = Extract<TabAct, { readonly p: number }>

function actingOnTab(world: World, process: Process, life: Life, act: OneTabAct): void {
  if (act.do === 'leave') leave(world, process, life, act.lingerMs)
  else if ('forMs' in act) putAway(world, process, life, act)
  else life.page?.turn(act.do === 'hide')
}

/** All that is frozen comes to itself. */
export function thaw(world: World, { name }: Process, life: Life): void {
  if (!life.gate.frozen || !life.gate.alive) return
  world.book.note(`${name} thaws`)
  life.health.gap = true
  // one after another: what follows from each happens before the next
  for (const work of life.gate.thaw()) world.time.after(0, work)
}

function leave(world: World, process: Process, life: Life, lingerMs: number): void {
  world.book.note(`${process.name} is left`)
  life.putAway = true
  life.page?.tell(life.page.window, 'pagehide', { persisted: false })
  life.page?.turn(true)
  world.time.after(lingerMs, () => process.end(life))
}

function putAway(
  world: World,
  process: Process,
  life: Life,
  act: Extract<TabAct, { readonly forMs: number; readonly p: number }>,
): void {
  const { page, gate } = life
  if (!page) return
  const { do: how, forMs, backFirst } = act
  world.book.note(`${process.name} is put away`)
  life.putAway = true
  if (how === 'cached') page.tell(page.window, 'pagehide', { persisted: true })
  page.turn(true)
  page.tell(page.document, 'freeze')
  gate.freeze()
  world.time.after(forMs, () => {
    if (!gate.alive || !gate.frozen) return
    if (!backFirst) thaw(world, process, life)
    world.time.after(0, () => back(world, process, life, how))
  })
}

/** It is told that it is back. */
export function back(world: World, process: Process, life: Life, how: 'suspend' | 'cached'): void {
  const { page, gate } = life
  if (!page || !gate.alive || !life.putAway) return
  world.book.note(`${process.name} is back`)
  life.putAway = false
  life.health.gap = true
  page.tell(page.document, 'resume')
  if (how === 'cached') page.tell(page.window, 'pageshow', { persisted: true })
  page.turn(false)
  thaw(world, process, life)
}

export function setNetwork(world: World, online: boolean, told: boolean): void {
  const { network } = world
  world.book.note(`the network is ${online ? 'there' : 'gone'}${told ? '' : ', and nobody says so'}`)
  network.online = online
  network.told = told
  for (const { life } of world.processes) {
    if (!online) life?.sends.cut()
    const { page, gate } = life ?? {}
    const onLine = online || !told
    if (!page || page.navigator.onLine === onLine) continue
    page.navigator.onLine = onLine
    gate?.enter(() => page.window.dispatchEvent(new Event(onLine ? 'online' : 'offline')))
  }
}

/** Nobody is told; the clock goes on. */
function sleep(world: World, forMs: number): void {
  world.book.note('the machine sleeps')
  const asleep: (readonly [Process, Life])[] = []
  for (const process of world.processes) {
    const { life } = process
    if (!life || life.gate.frozen) continue
    life.gate.freeze()
    asleep.push([process, life])
  }
  world.time.after(forMs, () => {
    for (const [process, life] of asleep) if (!life.putAway) thaw(world, process, life)
  })
}
