import type { House } from './test.ts';

/** A page of the console, and the words that prove it is that page. */
export interface Place {
  name: string;
  /** Its address; for some only known once there is data. */
  path: (house: House) => Promise<string>;
  title: { en: string; zh: string } | ((path: string) => string);
  /** Whether the navigation is there, by which hydration is proved. */
  navigation: boolean;
}

const fixed =
  (path: string): Place['path'] =>
  async () =>
    path;

interface Listed {
  items: { id: string }[];
}

interface Named {
  name: string;
}

/** The newest record that shows what a record can have: its longest message. */
async function aRecord({ penstock }: House): Promise<string> {
  const { items } = await penstock.api<Listed>('GET', '/pending?error_class=content_violation');
  return `/pending/${items[0]?.id ?? 'r0000000000000'}`;
}

/** The upstream with the longest name. */
async function anUpstream({ penstock }: House): Promise<string> {
  const all = await penstock.api<Named[]>('GET', '/upstreams');
  const [longest] = all.map((upstream) => upstream.name).sort((a, b) => b.length - a.length);
  return `/quotas/${longest ?? 'nobody'}`;
}

export const places: Place[] = [
  { name: 'overview', path: fixed('/'), title: { en: 'Overview', zh: '总览' }, navigation: true },
  { name: 'pending', path: fixed('/pending'), title: { en: 'Pending', zh: '待处理' }, navigation: true },
  { name: 'record', path: aRecord, title: { en: 'Pending', zh: '待处理' }, navigation: true },
  { name: 'replays', path: fixed('/replays'), title: { en: 'Replays', zh: '重放' }, navigation: true },
  { name: 'breakers', path: fixed('/breakers'), title: { en: 'Breakers', zh: '熔断器' }, navigation: true },
  { name: 'quotas', path: fixed('/quotas'), title: { en: 'Quotas', zh: '配额' }, navigation: true },
  { name: 'engines', path: fixed('/engines'), title: { en: 'Engines', zh: '引擎' }, navigation: true },
  { name: 'sources', path: fixed('/sources'), title: { en: 'Sources', zh: '来源' }, navigation: true },
  { name: 'audit', path: fixed('/audit'), title: { en: 'Audit', zh: '审计' }, navigation: true },
  { name: 'quota', path: anUpstream, title: (path) => path.split('/').at(-1) ?? '', navigation: true },
];

/** Pages that are the same however full the store is. */
export const plain: Place[] = [
  { name: 'new quota', path: fixed('/quotas/new'), title: { en: 'New upstream', zh: '新上游' }, navigation: true },
  {
    name: 'not found',
    path: fixed('/no/such/page'),
    title: { en: 'There is no such page', zh: '没有这个页面' },
    navigation: true,
  },
];
