/** The rows of /retry-policies and /plan. */

import { createPolicy, deletePolicy, getPolicy, listPolicies, plan, putPolicy } from '../handlers/policies.ts'
import { type Route, route } from '../route.ts'
import { planOut, policiesOut, policyIn, policyOut, policyToPlan, policyToPut } from '../schemas/policy.ts'

const tag = 'Policies'
const ETAG = { etag: 'The version of the policy, for If-Match' }
const CREATED = { ...ETAG, location: 'The path of the policy' }

export const policyRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/retry-policies',
    operationId: 'createPolicy',
    tag,
    summary: 'Registers a policy',
    description:
      'By its name: the same policy once more changes nothing, another one of that name is refused. It is the tenant’s; without a tenant it is for all.',
    scope: 'policies:write',
    body: policyIn,
    answers: {
      201: { description: 'The policy is registered', schema: policyOut, headers: CREATED },
      200: { description: 'It was there already', schema: policyOut, headers: ETAG },
    },
    problems: ['policy-exists', 'policies-full'],
    handle: createPolicy,
  }),
  route({
    method: 'PUT',
    path: '/retry-policies/{policyId}',
    operationId: 'putPolicy',
    tag,
    summary: 'Registers or replaces a policy',
    description: 'Tasks keep the policy that they were made with. Other processes use the new one within a second.',
    scope: 'policies:write',
    headersIn: [
      { name: 'If-Match', description: 'An ETag: only if it is still that policy', example: '"17"' },
      { name: 'If-None-Match', description: '`*`: only if there is none', example: '*' },
    ],
    body: policyToPut,
    answers: {
      200: { description: 'The policy is replaced', schema: policyOut, headers: ETAG },
      201: { description: 'The policy is registered', schema: policyOut, headers: CREATED },
    },
    problems: ['not-found', 'changed-meanwhile', 'policy-exists', 'policies-full'],
    handle: putPolicy,
  }),
  route({
    method: 'GET',
    path: '/retry-policies',
    operationId: 'listPolicies',
    tag,
    summary: 'Lists the policies',
    description:
      'The default one, the presets, then by name those that the tenant has registered and those that are for all.',
    scope: 'tasks:read',
    answers: { 200: { description: 'All of them', schema: policiesOut } },
    problems: [],
    handle: listPolicies,
  }),
  route({
    method: 'GET',
    path: '/retry-policies/{policyId}',
    operationId: 'getPolicy',
    tag,
    summary: 'Shows a policy with its schedule',
    description: 'The schedule is that of tasks which name the policy and lay nothing over it.',
    scope: 'tasks:read',
    answers: { 200: { description: 'The policy', schema: policyOut, headers: ETAG } },
    problems: ['not-found'],
    handle: getPolicy,
  }),
  route({
    method: 'DELETE',
    path: '/retry-policies/{policyId}',
    operationId: 'deletePolicy',
    tag,
    summary: 'Deletes a policy',
    description: 'Tasks keep the policy that they were made with.',
    scope: 'policies:write',
    headersIn: [{ name: 'If-Match', description: 'An ETag: only if it is still that policy', example: '"17"' }],
    answers: { 204: { description: 'It is gone' } },
    problems: ['not-found', 'changed-meanwhile', 'policy-default'],
    handle: deletePolicy,
  }),
  route({
    method: 'POST',
    path: '/plan',
    operationId: 'planPolicy',
    tag,
    summary: 'Shows the schedule of a policy',
    description: 'Of a whole policy or a part of one, without registering it.',
    scope: 'tasks:read',
    isRead: true,
    body: policyToPlan,
    isBodyOptional: true,
    answers: { 200: { description: 'The waits before each retry', schema: planOut } },
    problems: [],
    handle: plan,
  }),
]
