/** The program of js/cli.ts, but for where the files of the inspector lie: the folder that UI_FOLDER names. */

import process from 'node:process'
import { main } from '../../../js/service/cli/cli.ts'
import { serve } from '../../../js/service/serve.ts'

const { UI_FOLDER: uiFolder = '', ...env } = process.env

process.exitCode = await main(
  {
    argv: process.argv.slice(2),
    env,
    stdout: process.stdout,
    stderr: process.stderr,
    isTTY: false,
    cwd: process.cwd(),
  },
  (settings, host) => serve(settings, { ...host, uiFolder }),
)
