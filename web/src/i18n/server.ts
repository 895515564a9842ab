/**
 * What the gateway says, in the reader's language. It speaks English, and what it says is known here by its code.
 *
 * In English its own sentence stands, since it knows the numbers and the names, unless there are better words here.
 * What is not known here is shown as the gateway said it.
 */
import type { ApiError } from '../lib/http'
import type { VoidCause } from '../conversation/assemble'
import type { Notice } from '../lib/types'
import { CATALOGUES, language, t } from './index.svelte'

export interface Words {
  /** null where the gateway's sentence stands. */
  en: string | null
  zh: string
}

export const ERRORS: Readonly<Record<string, Words>> = {
  already_voted: { en: null, zh: '此对战已经投过票。' },
  answer_not_failed: { en: null, zh: '只有已停止或失败的回答可以重新生成。' },
  answers_incomplete: { en: null, zh: '所有回答都完成之后，才能继续或投票。' },
  arena_limit: { en: null, zh: '竞技场已达到负载上限，请稍后重试。' },
  battle_forfeited: { en: null, zh: '此对战已因一方超时判负而结束，请开始新的对战。' },
  battle_not_found: { en: null, zh: '此对战不存在，或属于他人。' },
  battle_void: { en: null, zh: '此对战不计入结果，请开始新的对战。' },
  battle_voted: { en: null, zh: '此对战已因投票而结束，请开始新的对战。' },
  board_not_found: { en: null, zh: '没有这个排行榜。' },
  board_not_made: { en: null, zh: '排行榜的这一部分还在统计，请稍后重试。' },
  body_too_large: { en: null, zh: '发送的内容过大。' },
  bus_unavailable: { en: null, zh: '竞技场的消息服务暂时无法访问，请稍后重试。' },
  busy: { en: null, zh: '竞技场正忙，请稍后重试。' },
  category_not_found: { en: null, zh: '这一轮评测中没有此类别的已评分题目。' },
  client_limit: { en: null, zh: '您最近的请求过多，请稍后重试。' },
  conflict: { en: null, zh: '当前状态不允许此操作。' },
  conversation_not_found: {
    en: 'This conversation does not exist, or belongs to someone else.',
    zh: '此对话不存在，或属于他人。',
  },
  cross_site: { en: null, zh: '其他网站不能以您的名义操作。' },
  empty_prompt: { en: null, zh: '提示词是空的。' },
  http_error: { en: null, zh: '竞技场无法处理此请求。' },
  idempotency_mismatch: { en: null, zh: '此请求已用其他内容提交过，请再试一次。' },
  internal_error: { en: null, zh: '竞技场内部出错，详情见其日志。' },
  invalid_input: { en: null, zh: '发送的内容不符合要求。' },
  invalid_json: { en: null, zh: '发送的内容不是有效的 JSON。' },
  ledger_unavailable: { en: null, zh: '竞技场的数据库暂时无法访问，请稍后重试。' },
  limit_exceeded: { en: null, zh: '内容超出了允许的长度或数量。' },
  method_not_allowed: { en: null, zh: '此地址不接受这种请求。' },
  missing_field: { en: null, zh: '发送的内容缺少必填项。' },
  missing_reference: { en: null, zh: '所涉及的内容已不存在。' },
  model_not_ready: { en: null, zh: '所选的模型尚未就绪。' },
  no_judge: { en: null, zh: '此评测轮次不由评审评分。' },
  no_model_ready: { en: null, zh: '还没有可用的模型。' },
  not_a_battle: { en: null, zh: '只有匿名对战可以投票。' },
  not_a_chat: { en: null, zh: '此对话不是与单个模型的对话。' },
  not_allowed: { en: null, zh: '您无权执行此操作。' },
  not_enough_models: { en: null, zh: '对战需要两个已就绪的模型，目前不足两个。' },
  not_found: { en: null, zh: '此地址没有内容。' },
  not_last_turn: { en: null, zh: '只有最后一轮的回答可以重新生成。' },
  question_unknown: { en: null, zh: '这一轮评测中没有这道题目。' },
  round_not_found: { en: null, zh: '没有这一轮评测。' },
  same_model: { en: null, zh: '请选择两个不同的模型。' },
  too_many_turns: { en: null, zh: '此对话已达到轮数上限。' },
  turn_in_progress: { en: null, zh: '上一轮的回答还在生成。' },
  unavailable: { en: null, zh: '竞技场目前无法处理此请求，请稍后重试。' },
  unknown_model: { en: null, zh: '没有这个名字的模型。' },
  written_twice: { en: null, zh: '刚刚已写入相同的内容，请重试。' },
}

export const NOTICES: Readonly<Record<string, Words>> = {
  one_model_twice: { en: null, zh: '未能获取第二个模型，目前由同一模型的两种精度相互对战。下次启动时会再次尝试。' },
  too_few_models: { en: null, zh: '能够作答的模型太少，无法进行对战。' },
}

/** By whose answer is missing. */
export const VOIDS: Readonly<Record<VoidCause, Words>> = {
  a: { en: null, zh: '模型 A 未能完成回答。' },
  b: { en: null, zh: '模型 B 未能完成回答。' },
  both: { en: null, zh: '两个模型都未能完成回答。' },
  late: { en: null, zh: '两个模型都未能按时回答。' },
}

/** What the scorers that come with the arena are. */
export const SCORERS: Readonly<Record<string, Words>> = {
  reward: { en: null, zh: '奖励模型：预测人们有多喜欢这个回答。默认评分器。' },
  format: { en: null, zh: '回答满足提示词中明确格式要求的比例；没有此类要求时不评分。' },
  overlap: { en: null, zh: '回答涵盖提示词用词的程度，扣除照抄和重复。' },
}

/** What a look at a reduced engine came to. */
export const VERDICTS: Readonly<Record<string, { en: string; zh: string }>> = {
  promote: { en: 'In force', zh: '正常使用' },
  hold: { en: 'Too little seen to tell', zh: '样本不足，暂无结论' },
  roll_back: { en: 'Rolled back', zh: '已回退' },
}

/** Why an answer has not begun: the gateway knows how far the model is, a translation only that it is not there yet. */
export const WAITING: Words = { en: null, zh: '正在加载模型，请稍候。' }

function said(words: Words | undefined, sentence: string): string {
  return words?.[language.locale] ?? sentence
}

export function errorSentence({ code, status, message }: ApiError): string {
  if (code === 'unreachable') return t('error.unreachable')
  if (message !== '') return said(ERRORS[code], message)
  if (status === 429 || status === 503) return t('error.busy')
  return status === 0 ? t('error.unexpected') : t('error.unreadable', { status })
}

export function noticeSentence({ code, text }: Notice): string {
  return said(NOTICES[code], text)
}

export function voidSentence(cause: VoidCause | null, sentence: string): string {
  return cause === null ? sentence : said(VOIDS[cause], sentence)
}

export function scorerWords(name: string, sentence: string): string {
  return said(SCORERS[name], sentence)
}

export function verdictWords(verdict: string): string {
  return said(VERDICTS[verdict], verdict)
}

export function waitSentence(sentence: string): string {
  return said(WAITING, sentence)
}

/** Why an answer failed. The usual sentence is translated; another says more than a translation of the usual would. */
export function failureSentence(sentence: string | null): string {
  const usual = sentence === null || sentence === CATALOGUES.en['answer.failed.text']
  return usual ? t('answer.failed.text') : sentence
}
