/** Where an axios config leads. */

import type { AxiosInstance, AxiosRequestConfig, InternalAxiosRequestConfig } from 'axios'
import { absolute } from '../../call/read-fetch.ts'

/** Where a config leads; null: data: and file: URLs, and relative ones where there is no page, are axios' own business. */
export function httpUrl(config: InternalAxiosRequestConfig, axios: AxiosInstance): URL | null {
  try {
    const { url: path, baseURL, allowAbsoluteUrls, params, paramsSerializer } = config
    const where = { url: path, baseURL, allowAbsoluteUrls, params, paramsSerializer } as AxiosRequestConfig
    const url = new URL(absolute(axios.getUri(where)))
    return /^https?:$/.test(url.protocol) ? url : null
  } catch {
    // axios reports a URL it cannot use in its own words
    return null
  }
}

/** Axios makes a header of user name and password; a task, which is shown and logged, must not hold them. */
export function withoutUser(url: URL): string {
  if (!url.username && !url.password) return url.href
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}
