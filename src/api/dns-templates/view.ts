/** Templates, and what applying them did, in the form for clients. */
import type { AppliedToZone } from '../../control/templates/apply.js';
import type { TemplateChange, TemplateConflict } from '../../control/templates/difference.js';
import type { AppliedZone, TemplateItem } from '../../control/templates/templates.js';
import { recordView } from '../dns-records/view.js';
import { errorItems } from '../errors.js';
import { printTime } from '../times.js';
import type { DnsTemplate, TemplateApplication } from './schema.js';

/** Changes that one answer lists. */
export const MOST_LISTED = 1000;

export function templateView(item: TemplateItem): DnsTemplate {
  const { id, name, description, variables, records, version, createdAt, modifiedAt } = item;
  return {
    ...{ id, name, description, version },
    variables: variables.map((variable) => ({ ...variable })),
    records: records as DnsTemplate['records'],
    created_on: printTime(createdAt),
    modified_on: printTime(modifiedAt),
  };
}

export function appliedZoneView({ id, name, version, appliedAt, values }: AppliedZone) {
  return { id, name, version, applied_on: printTime(appliedAt), values: { ...values } };
}

/** Yields after each zone. */
export function* applicationViews(results: readonly AppliedToZone[]): Generator<undefined, TemplateApplication[]> {
  const views: TemplateApplication[] = [];
  let room = MOST_LISTED;
  for (const result of results) {
    const view = applicationView(result, room);
    room -= view.changes.length + view.conflicts.length;
    views.push(view);
    yield;
  }
  return views;
}

function applicationView({ zoneId, zoneName, status, difference, error }: AppliedToZone, room: number) {
  const { changes = [], conflicts = [], unchanged = 0 } = difference ?? {};
  const count = (action: TemplateChange['action']): number => changes.filter((one) => one.action === action).length;
  const listed = changes.slice(0, room);
  return {
    zone: { id: zoneId, name: zoneName },
    status,
    ...{ created: count('create'), changed: count('change'), deleted: count('delete'), unchanged },
    changes: listed.map(changeView),
    conflicts: conflicts.slice(0, room - listed.length).map(conflictView),
    errors: error ? errorItems(error) : [],
  };
}

function changeView({ action, before, after }: TemplateChange) {
  return { action, ...(before && { before: recordView(before) }), ...(after && { after: recordView(after) }) };
}

function conflictView({ reason, record, wanted }: TemplateConflict) {
  return { reason, ...(record && { record: recordView(record) }), ...(wanted && { wanted: { ...wanted } }) };
}
