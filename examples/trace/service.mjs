/**
 * A service with a queue on a SQLite file, traced by OpenTelemetry as any service is. Its spans go to the process that started
 * it, in place of a collector.
 */
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { RetryQueue } from '../../pkg/index.js'
import { attachOpenTelemetry } from '../../pkg/opentelemetry.js'
import { sqliteStore } from '../../pkg/sqlite.js'

const { path, url, order } = JSON.parse(process.argv[2])

const exporter = {
  export(spans, done) {
    for (const span of spans) process.send({ span: partsOf(span) })
    done({ code: 0 })
  },
  shutdown: async () => {},
}
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())

const queue = new RetryQueue({
  store: sqliteStore({ path }),
  principal: 'shop',
  policy: { strategy: 'fixed', initialDelayMs: 1_000, jitterType: 'NONE' },
})
attachOpenTelemetry(queue)
queue.on('retry', ({ log }) => process.send({ event: `failed ${log.attemptNumber}` }))
queue.on('succeeded', () => process.send({ event: 'succeeded' }))
queue.on('degraded', ({ message }) => process.stderr.write(`${message}\n`))
process.once('disconnect', () => queue.close())
await queue.ready

if (order) {
  await trace.getTracer('shop').startActiveSpan('checkout', async (span) => {
    const init = { method: 'POST', body: order, redrive: { mode: 'defer' } }
    const { status } = await queue.fetch(`${url}/orders`, init)
    span.setAttribute('answered', status).end()
  })
}

/** The parts of a span that the tree shows. */
function partsOf({ name, parentSpanContext, attributes, startTime, duration, spanContext, ...span }) {
  const { traceId, spanId } = spanContext.call(span)
  const ms = ([seconds, nanos]) => seconds * 1_000 + nanos / 1e6
  return {
    traceId,
    spanId,
    parentId: parentSpanContext?.spanId ?? null,
    name,
    attributes,
    startedAt: ms(startTime),
    durationMs: ms(duration),
  }
}
