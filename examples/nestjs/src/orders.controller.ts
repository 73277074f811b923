import { Body, Controller, Get, Headers, HttpCode, NotFoundException, Param, Post } from '@nestjs/common'
import { RetryQueue } from 'redrive'

const UPSTREAM = process.env.UPSTREAM ?? 'https://api.example.com'

@Controller('orders')
export class OrdersController {
  constructor(private readonly queue: RetryQueue) {}

  /** Enqueues an order. The client's key is that of the task: an order that is sent twice is one. */
  @Post()
  @HttpCode(202)
  async create(@Body() order: object, @Headers('idempotency-key') key?: string): Promise<{ taskId: string }> {
    const { taskId } = await this.queue.enqueue(`${UPSTREAM}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
      redrive: key ? { idempotencyKey: key } : {},
    })
    return { taskId }
  }

  @Get(':id')
  async show(@Param('id') id: string): Promise<{ status: string; attempts: number }> {
    const task = await this.queue.get(id)
    if (!task) throw new NotFoundException()
    return { status: task.status, attempts: task.attemptNumber }
  }
}
