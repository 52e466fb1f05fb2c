/**
 * The fields that conditions of rules may use, and their types. DNS gives them values for questions, the edge for requests; a
 * comparison with a field that has no value is false.
 */
export const CONDITION_FIELDS = {
  'cf.load_balancer.name': 'text',
  'cf.load_balancer.region': 'text',
  'ip.src': 'address',
  'http.cookie': 'text',
  'http.host': 'text',
  'http.referer': 'text',
  'http.request.method': 'text',
  'http.request.uri': 'text',
  'http.request.uri.path': 'text',
  'http.request.uri.query': 'text',
  'http.request.uri.args': 'map',
  'http.request.headers': 'map',
  'http.request.version': 'text',
  'http.request.timestamp.sec': 'number',
  'dns.qry.name': 'text',
  'dns.qry.type': 'number',
  'dns.rr.opt.client': 'truth',
  'dns.rr.opt.client.addr': 'address',
} as const;
