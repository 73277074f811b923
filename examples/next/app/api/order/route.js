import { retrying } from '../../retrying.js'

export async function GET(request) {
  const { host } = new URL(request.url)
  const response = await retrying(`http://${host}/api/flaky/route-handler`)
  return new Response(await response.text(), { status: response.status })
}
