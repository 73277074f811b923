/** The contract suite, and the rules of this store alone, in a Durable Object: each test in an object of its own. */
import type { ObjectStorage } from '../../../js/stores/durable-object.ts'

interface Environment {
  readonly OBJECTS: {
    idFromName(name: string): unknown
    get(id: unknown): { fetch(request: Request): Promise<Response> }
  }
}
export type TestStorage = ObjectStorage & { deleteAll(): Promise<void> }

export class TestObject {
  readonly #storage: TestStorage

  constructor({ storage }: { readonly storage: TestStorage }) {
    this.#storage = storage
  }

  async fetch({ url }: Request): Promise<Response> {
    // loaded by a request: at the start of a Worker nothing may be random, and the suite is
    const { names, runIn } = await import('./suite.ts')
    return Response.json(url.endsWith('/names') ? names() : await runIn(this.#storage, nameIn(url)))
  }
}

const nameIn = (url: string): string => decodeURIComponent(new URL(url).search.slice(1))

export default {
  fetch: (request: Request, { OBJECTS }: Environment): Promise<Response> =>
    OBJECTS.get(OBJECTS.idFromName(nameIn(request.url))).fetch(request),
}
