/**
 * Examples for every operation, made of the schemas: what they give as examples, first choices, and values that fit a member's
 * name.
 */

/** A JSON schema, as far as an example is made of it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly contentMediaType?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Media {
  schema?: Schema;
  example?: unknown;
}

interface Operation {
  requestBody?: { content?: Record<string, Media> };
  responses?: Record<string, { description?: string; content?: Record<string, Media> }>;
}

export interface Described {
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

const REFERENCE = '#/components/schemas/';
const TIME = '2026-05-05T12:00:00.123456Z';
const ID = '023e105f4ecef8ad9ca31a8372d0c353';

/** By the name of the member; values are of the documentation ranges (RFC 5737, RFC 2606). */
const TEXTS: Readonly<Record<string, string>> = {
  id: ID,
  zone_id: ID,
  name: 'www.example.com',
  zone_name: 'example.com',
  type: 'A',
  content: '192.0.2.10',
  email: 'admin@example.com',
  hostname: 'shop.customer.net',
  origin: 'origin.example.com',
  key: 'pictures/cat.jpg',
  rname: 'dns.example.com',
  permissions: '#zone:read',
  name_servers: 'ns1.example.net',
  ipv4_cidrs: '192.0.2.0/24',
  ipv6_cidrs: '2001:db8::/32',
  uuid: '7b163417-1d2b-4c84-a38a-2fb7a0cd7752',
};
const NUMBERS: Readonly<Record<string, number>> = { ttl: 300, per_page: 20, code: 1004, serial: 2026050501 };

/** Adds an example to every body of every operation that has none. */
export function addExamples(document: Described): void {
  const schemas = document.components?.schemas ?? {};
  for (const operation of Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses ?? {})];
    for (const media of bodies.flatMap((body) => Object.values(body?.content ?? {}))) {
      if (media.schema && media.example === undefined) media.example = exampleOf(media.schema, schemas, '');
    }
  }
}

function exampleOf(schema: Schema, schemas: Readonly<Record<string, Schema>>, name: string): unknown {
  if (schema.$ref !== undefined) return exampleOf(schemas[schema.$ref.slice(REFERENCE.length)] ?? {}, schemas, name);
  if (schema.examples !== undefined && schema.examples.length > 0) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [choice] = (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }) => type !== 'null');
  if (choice) return exampleOf(choice, schemas, name);
  const type = [schema.type].flat().find((candidate) => candidate !== 'null');
  if (type === 'object') return exampleObject(schema, schemas);
  if (type === 'array') return schema.items ? [exampleOf(schema.items, schemas, name)] : [];
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 0, NUMBERS[name] ?? 1);
  return type === 'string' ? exampleText(schema, name) : null;
}

/** The members that must be there. */
function exampleObject({ properties = {}, required = [] }: Schema, schemas: Readonly<Record<string, Schema>>): object {
  const members = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member, schemas, name)]));
}

function exampleText({ format, pattern }: Schema, name: string): string {
  if (format === 'date-time') return TIME;
  if (pattern?.includes('0-9a-f') === true) return ID;
  return TEXTS[name] ?? name.replaceAll('_', ' ');
}
