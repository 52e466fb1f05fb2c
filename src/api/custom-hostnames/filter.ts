/** The query of a list of custom hostnames (v4: §10.5). */
import { AUTHORITY_NAMES } from '../../certs/authority.js';
import type { HostnameQuery } from '../../hostnames/list.js';
import { choiceValue, flagValue, isPresent, type Query, textValue } from '../query.js';
import { HOSTNAME_STATUSES, SSL_STATUSES } from './schema.js';

type Mutable<Shape> = { -readonly [Name in keyof Shape]: Shape[Name] };

/** Throws 400 for what no filter can be. */
export function hostnameFilter(query: Query): HostnameQuery {
  const filter: Mutable<HostnameQuery> = {};
  const take = <Name extends keyof HostnameQuery>(name: Name, value: HostnameQuery[Name] | undefined): void => {
    if (value !== undefined) filter[name] = value;
  };
  take('id', textValue(query, 'id'));
  take('hostname', textValue(query, 'hostname'));
  take('exact', textValue(query, 'hostname.exact'));
  take('contain', isPresent(query, 'hostname.contain') ? (textValue(query, 'hostname.contain') ?? '') : undefined);
  take('startsWith', textValue(query, 'hostname.startsWith'));
  take('ssl', flagValue(query, 'ssl'));
  take('sslStatus', choiceValue(query, 'ssl_status', SSL_STATUSES));
  take('status', choiceValue(query, 'hostname_status', HOSTNAME_STATUSES));
  take('authority', choiceValue(query, 'certificate_authority', AUTHORITY_NAMES));
  take('origin', textValue(query, 'custom_origin_server'));
  take('wildcard', flagValue(query, 'wildcard'));
  take('order', choiceValue(query, 'order', ['ssl', 'ssl_status']));
  take('direction', choiceValue(query, 'direction', ['asc', 'desc']));
  return filter;
}
