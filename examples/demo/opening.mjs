/** Opens an address in the browser of this machine, and says in a sentence what came of it. `BROWSER` names another program, or `none`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const programs = {
  darwin: ['open'],
  // `start` would read an `&` in the address as the end of the command
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

export async function openInBrowser(url, { env = process.env, platform = process.platform } = {}) {
  if (env.BROWSER === 'none') return 'Open it in a browser.'
  const isSeen = platform in programs || env.DISPLAY || env.WAYLAND_DISPLAY
  if (!env.BROWSER && !isSeen) return 'There is no display here: open it elsewhere, through a tunnel (ssh -L).'
  const [program, ...args] = env.BROWSER ? [env.BROWSER] : (programs[platform] ?? ['xdg-open'])
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true, env })
  try {
    await once(child, 'spawn')
  } catch (error) {
    return `It could not be opened (${error.message}): open it in a browser.`
  }
  child.unref()
  return 'It opens in your browser.'
}
