// The service that fails: each name every other time.
const attempts = new Map()

export async function GET(_, { params }) {
  const { name } = await params
  const attempt = (attempts.get(name) ?? 0) + 1
  attempts.set(name, attempt % 2)
  return new Response(`${name}: attempt ${attempt}`, { status: attempt === 1 ? 503 : 200 })
}
