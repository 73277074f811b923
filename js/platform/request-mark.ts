/** Finds out which request of a Worker runs: what one of them has made the platform keeps from the code of another. */

/** Whether the code of the request that made it runs now. A no takes some 20 µs, for the error of the platform. */
export type Mark = () => boolean

interface Socket {
  readonly readyState: number
}

/** undefined: the code of no request runs, but that of the module. */
export function newMark(): Mark | undefined {
  const { WebSocketPair } = globalThis as { WebSocketPair?: new () => readonly [Socket, Socket] }
  try {
    if (WebSocketPair) return markOf(new WebSocketPair()[0], ({ readyState }) => readyState)
    // Vercel's edge has none. A look from another request leaves such a body locked, for its own request, too
    let response = new Response('a request')
    return markOf(undefined, () => {
      response.clone()
      response = new Response('a request')
    })
  } catch {
    return undefined
  }
}

function markOf<T>(made: T, look: (made: T) => unknown): Mark {
  return () => {
    try {
      look(made)
      return true
    } catch {
      return false
    }
  }
}
