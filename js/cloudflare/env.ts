/** The bindings of a Worker. `wrangler types` writes them into `Cloudflare.Env`, which is empty where it was not run. */

declare global {
  // biome-ignore lint/style/noNamespace: the platform's own name
  namespace Cloudflare {
    interface Env {}
  }
}

export type WorkerEnv = Cloudflare.Env
