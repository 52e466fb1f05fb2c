/** Lifecycle: the rules of a bucket in XML, and what answers say of an object that expires. */

import { toHex } from '../base/bytes.js';
import { inSlices } from '../base/slices.js';
import type { ObjectItem } from '../bucket/object-store.js';
import { expiryOf, type LifecycleCondition, type LifecycleRule, planOf } from '../bucket/rules/lifecycle.js';
import { getStoredRules, setRules } from '../bucket/rules/rule-sets.js';
import { rulesOfBucket } from '../store/objects/rules.js';
import { readDocument, readNothing } from './body.js';
import { requireKnown } from './bucket-cors.js';
import { placeOfBucket } from './caller.js';
import { S3Error } from './errors.js';
import { type S3Request, sendEmpty, sendXml } from './request.js';
import { encodeStrictly } from './target.js';
import { documentOf, type Element, element, parent, readXml, textsOf, type Xml } from './xml.js';

/** Octets: a thousand rules. */
const LONGEST_CONFIGURATION = 1 << 20;
const DAY = 86_400;
/** In days: a hundred years. */
const MOST_DAYS = 36_525;

export async function getBucketLifecycle(request: S3Request, name: string): Promise<void> {
  await readNothing(request);
  const { context } = request.caller;
  const rules = getStoredRules(context, placeOfBucket(request.caller, name), 'lifecycle');
  if (!rules) throw new S3Error('NoSuchLifecycleConfiguration');
  sendXml(request, documentOf('LifecycleConfiguration', ...rules.map(showRule)));
}

function showRule(rule: LifecycleRule): Xml {
  const { deleteObjectsTransition: expiry, abortMultipartUploadsTransition: uploads } = rule;
  const prefix = element('Prefix', rule.conditions.prefix);
  return parent(
    'Rule',
    element('ID', rule.id),
    rule.hasPlainPrefix ? prefix : parent('Filter', prefix),
    element('Status', rule.enabled ? 'Enabled' : 'Disabled'),
    expiry ? parent('Expiration', showCondition(expiry.condition)) : '',
    ...(rule.storageClassTransitions ?? []).map(({ condition }) =>
      parent('Transition', showCondition(condition), element('StorageClass', 'STANDARD_IA')),
    ),
    uploads
      ? parent(
          'AbortIncompleteMultipartUpload',
          element('DaysAfterInitiation', Math.ceil(uploads.condition.maxAge / DAY)),
        )
      : '',
  );
}

/** Seconds of v4 are shown as the days in which they end. */
function showCondition(condition: LifecycleCondition): Xml {
  if (condition.type === 'Age') return element('Days', Math.ceil(condition.maxAge / DAY));
  return element('Date', new Date(condition.date).toISOString());
}

export async function putBucketLifecycle(request: S3Request, name: string): Promise<void> {
  const { context } = request.caller;
  const document = await readDocument(request, LONGEST_CONFIGURATION);
  const root = await inSlices(request.options.clock, readXml(document, 'LifecycleConfiguration', 'Rule'));
  requireKnown(root, ['Rule']);
  const rules = (root.children.get('Rule') ?? []).map((rule) => readRule(rule, () => toHex(context.random.bytes(16))));
  if (rules.length === 0) throw new S3Error('MalformedXML');
  await setRules(context, placeOfBucket(request.caller, name), 'lifecycle', rules);
  sendEmpty(request, 200);
}

export async function deleteBucketLifecycle(request: S3Request, name: string): Promise<void> {
  await readNothing(request);
  await setRules(request.caller.context, placeOfBucket(request.caller, name), 'lifecycle', []);
  sendEmpty(request, 204);
}

const KNOWN = ['ID', 'Filter', 'Prefix', 'Status', 'Expiration', 'Transition', 'AbortIncompleteMultipartUpload'];

function readRule(rule: Element, makeId: () => string): LifecycleRule {
  requireKnown(rule, KNOWN);
  const [id] = textsOf(rule, 'ID');
  const [status] = textsOf(rule, 'Status');
  if (status !== 'Enabled' && status !== 'Disabled')
    throw new S3Error('MalformedXML', 'Status must be Enabled or Disabled.');
  const expiry = only(rule, 'Expiration');
  const uploads = only(rule, 'AbortIncompleteMultipartUpload');
  const transitions = rule.children.get('Transition') ?? [];
  if (uploads) requireKnown(uploads, ['DaysAfterInitiation']);
  return {
    id: id === undefined || id === '' ? makeId() : id,
    enabled: status === 'Enabled',
    conditions: { prefix: readPrefix(rule) },
    ...(rule.children.has('Prefix') && { hasPlainPrefix: true as const }),
    ...(expiry && { deleteObjectsTransition: { condition: readCondition(expiry, ['Days', 'Date']) } }),
    ...(uploads && {
      abortMultipartUploadsTransition: {
        condition: { type: 'Age' as const, maxAge: readDays(textsOf(uploads, 'DaysAfterInitiation')[0], 1) },
      },
    }),
    ...(transitions.length > 0 && { storageClassTransitions: transitions.map(readTransition) }),
  };
}

/** Every object of the bucket, unless the rule names the beginning of keys. Filters by size and tags are not implemented. */
function readPrefix(rule: Element): string {
  const filter = only(rule, 'Filter');
  const plain = rule.children.get('Prefix')?.[0]?.text;
  if (!filter && plain === undefined) throw new S3Error('MalformedXML', 'A rule has neither Filter nor Prefix.');
  if (filter && plain !== undefined) throw new S3Error('MalformedXML', 'A rule has both Filter and Prefix.');
  if (!filter) return plain!;
  requireKnown(filter, ['Prefix', 'And']);
  const and = only(filter, 'And');
  if (and) requireKnown(and, ['Prefix']);
  return (and ?? filter).children.get('Prefix')?.[0]?.text ?? '';
}

function readTransition(transition: Element): NonNullable<LifecycleRule['storageClassTransitions']>[number] {
  const condition = readCondition(transition, ['Days', 'Date', 'StorageClass'], 0);
  const [storageClass] = textsOf(transition, 'StorageClass');
  if (storageClass !== 'STANDARD_IA') throw new S3Error('InvalidStorageClass', 'The only other class is STANDARD_IA.');
  return { condition, storageClass: 'InfrequentAccess' };
}

function readCondition(element: Element, known: readonly string[], least = 1): LifecycleCondition {
  requireKnown(element, known);
  const [days, date] = [textsOf(element, 'Days')[0], textsOf(element, 'Date')[0]];
  if ((days === undefined) === (date === undefined)) throw new S3Error('MalformedXML', 'Expected either Days or Date.');
  if (date === undefined) return { type: 'Age', maxAge: readDays(days, least) };
  const at = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(date) ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(at) || at % (DAY * 1000) !== 0) {
    throw new S3Error('InvalidArgument', "'Date' must be at midnight GMT");
  }
  return { type: 'Date', date: new Date(at).toISOString() };
}

function readDays(text: string | undefined, least: number): number {
  if (text === undefined) throw new S3Error('MalformedXML');
  const days = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(days)) throw new S3Error('MalformedXML', 'A number of days is not a number.');
  if (days < least || days > MOST_DAYS) {
    throw new S3Error('InvalidArgument', `A number of days must be from ${least} to ${MOST_DAYS}.`);
  }
  // On the day itself is within its first second.
  return Math.max(1, days * DAY);
}

function only(element: Element, name: string): Element | undefined {
  const all = element.children.get(name) ?? [];
  if (all.length > 1) throw new S3Error('MalformedXML', `${name} occurs more than once.`);
  return all[0];
}

/** Says when the object expires, and by which rule. */
export function noteExpiry(
  { response, options }: S3Request,
  bucket: number,
  item: Pick<ObjectItem, 'key' | 'uploadedAt'>,
): void {
  const rules = rulesOfBucket<LifecycleRule>(options.base.store, bucket, 'lifecycle');
  const expiry = rules && expiryOf(planOf(rules), item);
  if (!expiry) return;
  const date = new Date(Math.ceil(expiry.at / 1_000_000) * 1000).toUTCString();
  response.setHeader('x-amz-expiration', `expiry-date="${date}", rule-id="${encodeStrictly(expiry.rule)}"`);
}
