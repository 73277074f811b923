/** Makes the storage of an object fail when a test says so, and keeps what a test asks for over the object's evictions. */

/** By object: its instances come and go. */
const stories = new Map()

class Story {
  runs = []
  alarms = []
  degraded = []
  dead = []
  #plan = { calls: [], alarms: 0 }
  /** What is broken now: which calls, how many of them work before, and how many fail then. */
  #calls = []
  #pass = 0
  #fail = 0

  /** Without `alarms` it begins now; else with each of so many alarms anew. */
  breaks({ calls, alarms = 0, after = 0, times = Number.POSITIVE_INFINITY }) {
    this.#plan = { calls, alarms, after, times }
    if (alarms === 0) this.#arm()
  }

  begin() {
    if (this.#plan.alarms <= 0) return
    this.#plan.alarms -= 1
    this.#arm()
  }

  end() {
    this.#calls = []
  }

  mayFail(name) {
    if (!this.#calls.includes(name) || this.#pass-- > 0 || this.#fail-- <= 0) return
    throw new Error(`the test lets storage.${name} fail`)
  }

  #arm() {
    const { calls, after, times } = this.#plan
    this.#calls = calls
    this.#pass = after
    this.#fail = times
  }
}

export function storyOf(ctx) {
  const id = ctx.id.toString()
  const story = stories.get(id) ?? new Story()
  stories.set(id, story)
  return story
}

/** Gives what cannot fail. */
export function rig(ctx) {
  const { storage } = ctx
  const { sql } = storage
  const story = storyOf(ctx)
  const [getAlarm, setAlarm] = [storage.getAlarm.bind(storage), storage.setAlarm.bind(storage)]
  const breakable = (object, name, fails = (error) => Promise.reject(error)) => {
    const works = object[name].bind(object)
    object[name] = (...args) => {
      try {
        story.mayFail(name)
      } catch (error) {
        return fails(error)
      }
      return works(...args)
    }
  }
  const throws = (error) => {
    throw error
  }
  breakable(sql, 'exec', throws)
  breakable(storage, 'transactionSync', throws)
  for (const name of ['setAlarm', 'getAlarm', 'deleteAlarm', 'sync']) breakable(storage, name)
  return { getAlarm, setAlarm }
}
