// IndexedDB by itself.

export const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

/** Without `make`, the database as it is. */
export function open(name, make) {
  const request = indexedDB.open(name)
  request.onupgradeneeded = () => make?.(request.result)
  return done(request)
}

/** Resolves once what `work` writes into the store is committed, and synced if it is to be strict. */
export function written(database, name, durability, work) {
  return new Promise((resolve, reject) => {
    const tx = database.transaction(name, 'readwrite', { durability })
    tx.oncomplete = () => resolve()
    tx.onabort = () => reject(tx.error)
    work(tx.objectStore(name))
    tx.commit()
  })
}
