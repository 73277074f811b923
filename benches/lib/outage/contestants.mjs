// Each library as its own documentation has it, with no option set. `open` gives `call(url)`, which resolves once the body of a good answer is read
// and rejects when the call is lost.

async function textOf(response) {
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status}`)
  return text
}

const sendOnce = async (url) => textOf(await fetch(url))

export const contestants = {
  redrive: {
    how: 'wrapFetch(new RetryQueue())',
    async open() {
      const { RetryQueue, wrapFetch } = await import('../package.mjs')
      const queue = new RetryQueue({ warn: false })
      const wrapped = wrapFetch(queue)
      return { call: async (url) => textOf(await wrapped(url)), close: () => queue.close() }
    },
  },
  fetch: { how: 'as it is', open: () => ({ call: sendOnce }) },
  ky: {
    how: 'ky(url)',
    async open() {
      const { default: ky } = await import('ky')
      return { call: (url) => ky(url).text() }
    },
  },
  'axios-retry': {
    how: 'axiosRetry(axios)',
    async open() {
      const [{ default: axios }, { default: axiosRetry }] = await Promise.all([import('axios'), import('axios-retry')])
      const client = axios.create()
      axiosRetry(client)
      return { call: (url) => client.get(url) }
    },
  },
  'p-retry + p-queue': {
    how: 'new PQueue().add(() => pRetry(..))',
    async open() {
      const [{ default: PQueue }, { default: pRetry }] = await Promise.all([import('p-queue'), import('p-retry')])
      const queue = new PQueue()
      return { call: (url) => queue.add(() => pRetry(() => sendOnce(url))) }
    },
  },
  'undici RetryAgent': {
    how: 'new RetryAgent(new Agent())',
    async open() {
      const { Agent, request, RetryAgent } = await import('undici')
      const dispatcher = new RetryAgent(new Agent())
      const call = async (url) => {
        const { statusCode, body } = await request(url, { dispatcher })
        const text = await body.text()
        if (statusCode !== 200) throw new Error(`${statusCode}`)
        return text
      }
      return { call }
    },
  },
}
