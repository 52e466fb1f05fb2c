/** The rules of a bucket: what they say in words, and forms that add one. The API replaces a list as a whole. */
import type { ComponentChildren } from 'preact';
import { ApiError } from '../../api.js';
import { type Sending, useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { BucketCorsRule, BucketLifecycleRule, BucketLockRule } from '../../types.js';
import { NewCorsRule, NewLifecycleRule, NewLock } from './new-rules.js';

const NOT_FOUND = 404;
const DAY = 86_400;

/** `base`: path of the bucket. */
export function Rules({ base }: { readonly base: string }) {
  return (
    <div class="columns">
      <RuleList<BucketCorsRule>
        path={`${base}/cors`}
        title="Pages of other origins (CORS)"
        about="Which pages may use this bucket from a browser, at the S3 API and at public names."
        describe={describeCors}
        form={(rules, sending, save) => <NewCorsRule rules={rules} sending={sending} onSave={save} />}
      />
      <RuleList<BucketLifecycleRule>
        path={`${base}/lifecycle`}
        title="Lifecycle"
        about="What becomes of objects and unfinished uploads with time."
        describe={describeLifecycle}
        isDefault={isDefault}
        form={(rules, sending, save) => <NewLifecycleRule rules={rules} sending={sending} onSave={save} />}
      />
      <RuleList<BucketLockRule>
        path={`${base}/lock`}
        title="Locks"
        about="Which objects can be neither deleted nor replaced, whoever tries."
        describe={describeLock}
        form={(rules, sending, save) => <NewLock rules={rules} sending={sending} onSave={save} />}
      />
    </div>
  );
}

interface RuleListProps<Rule> {
  readonly path: string;
  readonly title: string;
  readonly about: string;
  readonly describe: (rule: Rule) => ComponentChildren;
  /** Whether a rule that stands alone is there without anybody having set it. */
  readonly isDefault?: (rule: Rule) => boolean;
  readonly form: (
    rules: readonly Rule[],
    sending: Sending,
    save: (rules: readonly Rule[]) => Promise<boolean>,
  ) => ComponentChildren;
}

function RuleList<Rule extends { readonly id?: string | undefined; readonly enabled?: boolean }>(
  props: RuleListProps<Rule>,
) {
  const { path, title, about, describe, form, isDefault = () => false } = props;
  const { answer, error, reload } = useLoad<{ readonly rules: readonly Rule[] }>(path);
  const writes = mayWrite(usePermissions(), 'buckets');
  const sending = useSending(reload);
  // The answer to a bucket that has no such rules.
  const isNone = error instanceof ApiError && error.status === NOT_FOUND;
  const rules = isNone ? [] : (answer?.result.rules ?? []);
  const save = (changed: readonly Rule[]): Promise<boolean> => sending.send('PUT', path, { body: { rules: changed } });
  if (error && !isNone) return <ErrorNote error={error} onRetry={reload} />;
  return (
    <Panel title={title}>
      <p class="muted">{about}</p>
      {rules.length > 0 && (
        <ul class="plain-list">
          {rules.map((rule, index) => (
            <li key={rule.id ?? index}>
              <span>
                {describe(rule)} {rule.enabled === false && <span class="chip">Off</span>}
              </span>
              {writes && !(rules.length === 1 && isDefault(rule)) && (
                <Confirm
                  verb="Remove"
                  what={rule.id ?? `rule ${index + 1}`}
                  busy={sending.busy}
                  quiet
                  onConfirm={() => void save(rules.filter((other) => other !== rule))}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {(answer || isNone) && writes && form(rules, sending, save)}
      <Curl
        request={{ method: 'GET', path }}
        {...(writes && { others: { 'Replace them': { method: 'PUT', path, body: { rules } } } })}
      />
    </Panel>
  );
}

const isDefault = ({ id }: BucketLifecycleRule): boolean => id === 'Default Multipart Abort Rule';

function describeCors({ allowed, maxAgeSeconds }: BucketCorsRule): ComponentChildren {
  const { origins, methods, headers = [] } = allowed;
  return (
    <>
      <code>{origins.join(' ')}</code>: {methods.join(', ')}
      {headers.length > 0 && (
        <>
          {' '}
          with <code>{headers.join(' ')}</code>
        </>
      )}
      {maxAgeSeconds !== undefined && `, kept for ${maxAgeSeconds} seconds`}
    </>
  );
}

const keysOf = (prefix: string): ComponentChildren =>
  prefix === '' ? 'all objects' : <>objects that begin with {<code>{prefix}</code>}</>;

function timeOf(condition: { readonly type: string; readonly maxAge?: number; readonly date?: string }): string {
  if (condition.type === 'Date') return `on ${condition.date}`;
  return `after ${spanOf(condition.maxAge ?? 0)}`;
}

function spanOf(seconds: number): string {
  if (seconds % DAY !== 0) return `${seconds} seconds`;
  return seconds === DAY ? 'a day' : `${seconds / DAY} days`;
}

function describeLifecycle(rule: BucketLifecycleRule): ComponentChildren {
  const { deleteObjectsTransition: expiry, abortMultipartUploadsTransition: uploads } = rule;
  const deeds = [
    ...(expiry ? [`deleted ${timeOf(expiry.condition)}`] : []),
    ...(rule.storageClassTransitions ?? []).map(({ condition }) => `infrequent access ${timeOf(condition)}`),
    ...(uploads ? [`unfinished uploads given up ${timeOf(uploads.condition)}`] : []),
  ];
  return (
    <>
      {rule.id}: {keysOf(rule.conditions.prefix)}, {deeds.join(', ')}
    </>
  );
}

function describeLock({ id, prefix = '', condition }: BucketLockRule): ComponentChildren {
  const until =
    condition.type === 'Age'
      ? `for ${spanOf(condition.maxAgeSeconds)}`
      : condition.type === 'Date'
        ? `until ${condition.date}`
        : 'indefinitely';
  return (
    <>
      {id}: {keysOf(prefix)}, {until}
    </>
  );
}
