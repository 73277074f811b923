import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { OrdersController } from './orders.controller.js'
import { QueueModule } from './queue.module.js'

@Module({ imports: [QueueModule], controllers: [OrdersController] })
class AppModule {}

const app = await NestFactory.create(AppModule)
app.enableShutdownHooks() // SIGTERM and SIGINT close the queue
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
