/** The table of all endpoints, and its rows for the page that documents them. */

import { PROBLEMS, type ProblemType } from './problem.ts'
import { problemsOf, type Route } from './route.ts'
import { bodyRoutes } from './routes/bodies.ts'
import { controlRoutes } from './routes/control.ts'
import { deadLetterRoutes } from './routes/dead-letters.ts'
import { eventRoutes } from './routes/events.ts'
import { policyRoutes } from './routes/policies.ts'
import { taskRoutes } from './routes/tasks.ts'

export const routes: readonly Route[] = [
  ...taskRoutes,
  ...bodyRoutes,
  ...policyRoutes,
  ...deadLetterRoutes,
  ...controlRoutes,
  ...eventRoutes,
]

/** An endpoint as the documentation tells it. */
export interface EndpointRow {
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly summary: string
  /** '': no token is needed. */
  readonly scope: string
  /** Statuses of success, each with its meaning. */
  readonly answers: readonly { readonly status: number; readonly description: string }[]
  /** Problems of its own, beside those that any endpoint may give. */
  readonly problems: readonly { readonly status: number; readonly type: ProblemType }[]
}

/** The endpoints, in the order of the table. */
export function endpointRows(): readonly EndpointRow[] {
  return routes.map(({ method, path, tag, summary, scope, answers, problems }) => ({
    method,
    path,
    tag,
    summary,
    scope: scope ?? '',
    answers: Object.entries(answers).map(([status, { description }]) => ({ status: Number(status), description })),
    problems: problems.map((type) => ({ status: PROBLEMS[type].status, type })),
  }))
}

/** Problems that every endpoint may give which needs a token and takes a body. */
export function commonProblems(): readonly {
  readonly status: number
  readonly type: ProblemType
  readonly title: string
}[] {
  const [create] = taskRoutes
  const own = new Set<ProblemType>(create?.problems)
  const common = create ? problemsOf(create).filter((type) => !own.has(type)) : []
  return common.map((type) => ({ status: PROBLEMS[type].status, type, title: PROBLEMS[type].title }))
}
