/**
 * The chunk of a page with a store: what keeps tasks in one, and the store of pages. One request for both, which compresses better than two; a page
 * that gives a store of its own loads the other along.
 */

export { openStore } from '../durable/open.ts'
export { indexedDbStore } from '../stores/indexeddb.ts'
