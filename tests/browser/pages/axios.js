/** A page that calls Axios: every other call over XMLHttpRequest, the rest over Axios' fetch adapter. */
import axios from '/axios/axios.js'
import { attachToAxios } from '/pkg/axios.js'
import { api, expose, queue } from './app.js'

const instance = axios.create()
globalThis.detach = attachToAxios(instance, queue)

expose(async (intent, at = 0) => {
  const response = await instance.post(api, { intent, via: 'axios' }, { adapter: at % 2 === 0 ? 'xhr' : 'fetch' })
  return response.data
})
