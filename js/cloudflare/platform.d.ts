/** What of the platform's own module is used. Its users have it whole, from `wrangler types`. */
declare module 'cloudflare:workers' {
  export class DurableObject<Env = unknown> {
    protected ctx: import('./object-state.ts').ObjectState
    protected env: Env
    constructor(ctx: import('./object-state.ts').ObjectState, env: Env)
  }
}
