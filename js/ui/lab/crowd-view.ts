/** The crowd: tasks that fail at the same moment, and when each of them comes back. */

import { html } from 'lit'
import { duration, grouped, plural } from 'redrive/internal'
import type { CrowdAnswer } from '../engine/model.ts'
import type { DotsModel } from '../plot/dots.ts'
import { type Figure, percent, ratio, type Sight } from './sight.ts'

export function crowdView(
  answer: CrowdAnswer,
  jobs: number,
  raster: Pick<DotsModel, 'width' | 'height'>,
  resized: () => void,
): Sight {
  const { retries, bins, binMs, endMs, times } = answer
  const model: DotsModel = {
    ...raster,
    jobs,
    retries: retries.length,
    endMs,
    times,
    raster: answer.raster,
    bins,
    binsEndMs: binMs * bins.length,
  }
  return {
    title: `${plural(jobs, 'task')} that ${jobs === 1 ? 'fails' : 'fail together'}`,
    summary: summaryOf(answer, jobs),
    picture: html`<redrive-dots .model=${model} @resized=${resized}></redrive-dots>`,
    columns: ['Retry', 'First', 'Mean', 'Last', 'Mean wait', 'CV of the wait'],
    rows: retries.map(({ retry, firstMs, meanMs, lastMs, meanWaitMs, waitCv }) => [
      String(retry),
      duration(firstMs),
      duration(meanMs),
      duration(lastMs),
      duration(meanWaitMs),
      ratio(waitCv),
    ]),
    figures: figuresOf(answer),
  }
}

function summaryOf({ idle, peak, retries, binMs, bins }: CrowdAnswer, jobs: number): string {
  if (retries.length === 0) return 'The policy has no retry, so nothing comes back.'
  const span = duration(binMs * bins.length)
  const load = peak > 0 ? ` The busiest part of that time has ${ratio(peak)} times the mean load.` : ''
  return `Of the ${span} until half of ${plural(jobs, 'task')} have made retry ${retries.length}, ${percent(idle)} pass with no request at all.${load}`
}

function figuresOf({ idle, peak, peakCount, meanCount, waitCv, loadCv, binMs }: CrowdAnswer): Figure[] {
  return [
    {
      name: 'Idle time',
      value: percent(idle),
      help: 'share of 200 parts in which no task comes',
      tone: idle > 0.5 ? 'bad' : idle > 0.3 ? 'warn' : 'good',
    },
    { name: 'Peak load', value: grouped(peakCount), help: `requests within ${duration(binMs)}` },
    {
      name: 'Mean load',
      value: meanCount < 100 ? ratio(meanCount) : grouped(Math.round(meanCount)),
      help: 'requests in such a part',
    },
    { name: 'Peak over mean', value: ratio(peak) },
    { name: 'CV of the waits', value: ratio(waitCv), help: 'deviation over mean, retries 2 on' },
    ...(loadCv === null
      ? []
      : [{ name: 'CV of the load', value: ratio(loadCv), help: 'in log time, where the curve doubles' }]),
  ]
}
