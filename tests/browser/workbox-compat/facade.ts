/** In place of Workbox's module. */
export { BackgroundSyncPlugin } from '../../../js/compat/workbox.ts'
