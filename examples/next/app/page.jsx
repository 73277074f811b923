import { headers } from 'next/headers'
import { Orders } from './orders.jsx'
import { retrying } from './retrying.js'

export default async function Page() {
  // its own server, which only an example calls by the name that a client gave it
  const host = (await headers()).get('host')
  const response = await retrying(`http://${host}/api/flaky/server-component`)
  return (
    <main>
      <p id="server">{await response.text()}</p>
      <Orders />
    </main>
  )
}
