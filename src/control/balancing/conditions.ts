/** The fields that conditions of rules may use; what each is of a question or a request, DNS and the edge know. */
import { compileExpression, type FieldTable } from '../../expressions/compile.js';

const text = { type: 'absent', is: 'text' } as const;

const FIELDS: FieldTable<never> = {
  'cf.load_balancer.name': text,
  'cf.load_balancer.region': text,
  'ip.src': { type: 'absent', is: 'address' },
  'http.cookie': text,
  'http.host': text,
  'http.referer': text,
  'http.request.method': text,
  'http.request.uri': text,
  'http.request.uri.path': text,
  'http.request.uri.query': text,
  'http.request.uri.args': { type: 'absent', is: 'map' },
  'http.request.headers': { type: 'absent', is: 'map' },
  'http.request.version': text,
  'http.request.timestamp.sec': { type: 'absent', is: 'number' },
  'dns.qry.name': text,
  'dns.qry.type': { type: 'absent', is: 'number' },
  'dns.rr.opt.client': { type: 'absent', is: 'truth' },
  'dns.rr.opt.client.addr': { type: 'absent', is: 'address' },
};

/** Why a condition is no condition, with its place; undefined for a good one. */
export function faultOfCondition(condition: string): string | undefined {
  const compiled = compileExpression(condition, FIELDS);
  return compiled.ok ? undefined : `${compiled.fault.message} at offset ${compiled.fault.offset}`;
}
