'use client'
import { useEffect, useState } from 'react'
import { retrying } from './retrying.js'

export function Orders() {
  const [answers, setAnswers] = useState(null)
  useEffect(() => {
    const texts = ['/api/flaky/client-component', '/api/order'].map(async (url) => (await retrying(url)).text())
    Promise.all(texts).then(setAnswers)
  }, [])
  return answers && <p id="client">{answers.join(', ')}</p>
}
