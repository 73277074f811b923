/** The part of the platform's own module that is used here. Users have the whole of it from `wrangler types`. */
declare module 'cloudflare:workers' {
  export class DurableObject<Env = unknown> {
    protected ctx: import('./object-state.ts').ObjectState
    protected env: Env
    constructor(ctx: import('./object-state.ts').ObjectState, env: Env)
  }
}
