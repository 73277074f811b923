/** The Worker of `@redrive/ui`: the lab computes here, so that a page with a million dots stays free. It does nothing else. */

import type { FromLab, LabPort, ToLab } from './ui/engine/protocol.ts'
import { serve } from './ui/engine/serve.ts'

serve(self as unknown as LabPort<FromLab, ToLab>)
